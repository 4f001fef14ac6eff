// SPDX-License-Identifier: MIT
/*
 * CPU nodes: model names from /proc/cpuinfo, and caches from the CPU's own
 * sysfs directories when the driver lists none. x86 naming only.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "hsakmt_int.h"

struct cpu {
	uint32_t number;
	uint32_t apicid;
	char model[HSA_PUBLIC_NAME_SIZE];
};

struct cpus {
	struct cpu *cpu;
	size_t count;
};

static const char *value_of(const char *line)
{
	const char *colon = strchr(line, ':');

	return colon ? colon + 1 + strspn(colon + 1, " ") : "";
}

static HSAKMT_STATUS read_cpuinfo(struct cpus *cpus)
{
	struct cpu *cur = NULL;
	char line[512];
	FILE *f = fopen("/proc/cpuinfo", "re");

	if (!f)
		return HSAKMT_STATUS_SUCCESS;	/* names stay empty */
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "processor", 9)) {
			struct cpu *grown = realloc(cpus->cpu, (cpus->count + 1) * sizeof(*grown));

			if (!grown) {
				fclose(f);
				return HSAKMT_STATUS_NO_MEMORY;
			}
			cpus->cpu = grown;
			cur = &grown[cpus->count++];
			memset(cur, 0, sizeof(*cur));
			cur->number = (uint32_t)strtoul(value_of(line), NULL, 10);
		} else if (cur && !strncmp(line, "model name", 10)) {
			snprintf(cur->model, sizeof(cur->model), "%s", value_of(line));
			cur->model[strcspn(cur->model, "\n")] = '\0';
		} else if (cur && !strncmp(line, "apicid", 6)) {
			cur->apicid = (uint32_t)strtoul(value_of(line), NULL, 10);
		}
	}
	fclose(f);
	return HSAKMT_STATUS_SUCCESS;
}

static void name_node(HsaNodeProperties *props, const struct cpus *cpus)
{
	for (size_t i = 0; i < cpus->count; i++) {
		const struct cpu *cpu = &cpus->cpu[i];
		int j;

		if (cpu->apicid != props->CComputeIdLo)
			continue;
		if (!props->DeviceId)
			snprintf((char *)props->AMDName, sizeof(props->AMDName), "%s", cpu->model);
		for (j = 0; cpu->model[j]; j++)
			props->MarketingName[j] = (unsigned char)cpu->model[j];
		props->MarketingName[j] = 0;
		return;
	}
}

static const struct cpu *find_cpu(const struct cpus *cpus, uint32_t number)
{
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->cpu[i].number == number)
			return &cpus->cpu[i];
	return NULL;
}

/* "...,XXXXXXXX,XXXXXXXX": hexadecimal words, the lowest 32 CPUs last. */
static void set_siblings(char *map, const struct cpus *cpus, HsaCacheProperties *cache)
{
	uint32_t base = 0;

	while (*map) {
		char *word = strrchr(map, ',');
		uint32_t bits = (uint32_t)strtoul(word ? word + 1 : map, NULL, 16);

		for (uint32_t b = 0; b < 32; b++) {
			const struct cpu *cpu = bits & (1u << b) ? find_cpu(cpus, base + b) : NULL;

			if (cpu && cpu->apicid < HSA_CPU_SIBLINGS)
				cache->SiblingMap[cpu->apicid] = 1;
		}
		if (!word)
			break;
		*word = '\0';
		base += 32;
	}
}

/* Size such as "32K" in bytes, as the stock library reports it. */
static uint32_t size_of(const char *text)
{
	char *unit;
	unsigned long val = strtoul(text, &unit, 10);

	switch (*unit) {
	case 'K':
		return (uint32_t)(val << 10);
	case 'M':
		return (uint32_t)(val << 20);
	case 'G':
		return (uint32_t)(val << 30);
	}
	return (uint32_t)val;
}

static void cache_u32(const char *dir, const char *file, uint32_t *value)
{
	char path[768];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	hsakmt_sysfs_u32(path, value);
}

static void cache_word(const char *dir, const char *file, char *buf, size_t size)
{
	char path[768];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	buf[0] = '\0';
	hsakmt_sysfs_word(path, buf, size);
}

/* False: the cache is shared and counted at the first CPU that has it. */
static bool read_cache(const char *dir, const struct cpus *cpus, uint32_t number,
		       HsaCacheProperties *cache)
{
	const struct cpu *cpu = find_cpu(cpus, number);
	uint32_t first = number;
	char word[256];

	cache_u32(dir, "shared_cpu_list", &first);
	if (first != number)
		return false;
	cache->ProcessorIdLow = cpu ? cpu->apicid : 0;
	cache_u32(dir, "level", &cache->CacheLevel);
	cache_word(dir, "type", word, sizeof(word));
	cache->CacheType.ui32.Data = !strcmp(word, "Data") || !strcmp(word, "Unified");
	cache->CacheType.ui32.Instruction = !strcmp(word, "Instruction") || !strcmp(word, "Unified");
	cache->CacheType.ui32.CPU = 1;
	cache_word(dir, "size", word, sizeof(word));
	cache->CacheSize = size_of(word);
	cache_u32(dir, "coherency_line_size", &cache->CacheLineSize);
	cache_u32(dir, "ways_of_associativity", &cache->CacheAssociativity);
	cache_u32(dir, "physical_line_partition", &cache->CacheLinesPerTag);
	cache_word(dir, "shared_cpu_map", word, sizeof(word));
	set_siblings(word, cpus, cache);
	return true;
}

static HSAKMT_STATUS read_cpu_caches(struct hsakmt_node *node, const char *node_dir,
				     const char *cpu_name, const struct cpus *cpus)
{
	uint32_t number = (uint32_t)strtoul(cpu_name + 3, NULL, 10);
	char dir[640];
	uint32_t count;

	snprintf(dir, sizeof(dir), "%s/%s/cache", node_dir, cpu_name);
	count = hsakmt_sysfs_count(dir, "index");
	for (uint32_t i = 0; i < count; i++) {
		HsaCacheProperties cache = { 0 }, *grown;

		snprintf(dir, sizeof(dir), "%s/%s/cache/index%u", node_dir, cpu_name, i);
		if (!read_cache(dir, cpus, number, &cache))
			continue;
		grown = realloc(node->cache, (node->props.NumCaches + 1) * sizeof(*grown));
		if (!grown)
			return HSAKMT_STATUS_NO_MEMORY;
		node->cache = grown;
		node->cache[node->props.NumCaches++] = cache;
	}
	return HSAKMT_STATUS_SUCCESS;
}

static HSAKMT_STATUS read_node_caches(struct hsakmt_node *node, uint32_t id,
				      const struct cpus *cpus)
{
	HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
	struct dirent *ent;
	char dir[128];
	DIR *d;

	snprintf(dir, sizeof(dir), "/sys/devices/system/node/node%u", id);
	d = opendir(dir);
	if (!d && !id) {	/* a kernel without NUMA */
		snprintf(dir, sizeof(dir), "/sys/devices/system/cpu");
		d = opendir(dir);
	}
	if (!d)
		return HSAKMT_STATUS_SUCCESS;
	while (status == HSAKMT_STATUS_SUCCESS && (ent = readdir(d)))
		if (!strncmp(ent->d_name, "cpu", 3) && isdigit((unsigned char)ent->d_name[3]))
			status = read_cpu_caches(node, dir, ent->d_name, cpus);
	closedir(d);
	return status;
}

HSAKMT_STATUS hsakmt_cpu_describe(struct hsakmt_topology *topo)
{
	struct cpus cpus = { 0 };
	HSAKMT_STATUS status;

	status = read_cpuinfo(&cpus);
	for (uint32_t i = 0; status == HSAKMT_STATUS_SUCCESS && i < topo->sys.NumNodes; i++) {
		struct hsakmt_node *node = &topo->nodes[i];

		if (node->props.NumCPUCores)
			name_node(&node->props, &cpus);
		if (!node->props.KFDGpuID && !node->props.NumCaches)
			status = read_node_caches(node, i, &cpus);
	}
	free(cpus.cpu);
	return status;
}
